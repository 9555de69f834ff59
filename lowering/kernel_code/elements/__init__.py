"""Any single element of a kernel's body, written on demand; knows no device.

What isn't elementwise has a rule that registers itself (`values.element_of`), so all files are imported.
"""

from ....dialects.modules import modules_below

modules_below(__name__)
