"""`python -m torch_doctor` is `torch-doctor`."""

from torch_doctor.cli import main

if __name__ == "__main__":
    main()
