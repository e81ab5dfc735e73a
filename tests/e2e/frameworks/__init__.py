"""Programs that run inside the environments of `test_frameworks.py`, one a framework; each prints what it found."""
