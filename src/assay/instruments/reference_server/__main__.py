"""How is the reference server started?

`python -m assay.instruments.reference_server`.
"""

import sys

from assay.instruments.reference_server.server import main

sys.exit(main())
