"""The rooms of the terminal program `tandem-memory`; `cli` is its door."""
