"""The graph dialect: a model's computation on tensors, with value semantics.

ops/ has one file per family of ops; an op is one class with its operands, its type rule and its reference
implementation in numpy. A name is imported from the file that defines it; dialect.py lists all ops. Importing this
package repairs xDSL's parsing, printing, construction and verification of operations (see ../xdsl_repairs.py).
"""

from .. import lazy_formats
from ..xdsl_repairs import repair_construction, repair_sizes, repair_text, repair_verification

del lazy_formats
repair_construction()
repair_sizes()
repair_text()
repair_verification()
