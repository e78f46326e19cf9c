"""Start and guard a Triton server, ask it, and check the machine. Knows nothing of torch or of how models are built."""
