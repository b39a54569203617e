"""What a user would pick instead, each used as its own documentation has users use it."""
