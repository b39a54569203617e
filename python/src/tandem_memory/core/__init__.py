"""The core: pure functions over plain values and one thin class. No I/O and no dependency."""
