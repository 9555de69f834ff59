"""Device-independent code for any single element of a kernel's body, built on demand.

Rules for ops that aren't elementwise register themselves (`values.element_of`), so all files are imported.
"""

from ....dialects.modules import modules_below

modules_below(__name__)
