"""Images: machine code linked at compile time, loadable without compiler or linker."""
