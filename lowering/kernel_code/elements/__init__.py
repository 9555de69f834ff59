"""Any single element of a kernel's body, written on demand; knows no device."""
