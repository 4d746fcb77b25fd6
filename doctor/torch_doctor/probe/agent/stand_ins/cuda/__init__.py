"""The CPU stands in for CUDA where there is none: what is moved to a GPU stays, and computes, on the CPU."""
