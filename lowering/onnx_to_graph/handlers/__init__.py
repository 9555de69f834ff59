"""ONNX's operators, a file for each family: what makes graph ops of a node; ../operators.py has the table."""
