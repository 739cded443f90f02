"""How is the reference server started?

`python -m fireassay.instruments.reference_server`.
"""

import sys

from fireassay.instruments.reference_server.server import main

sys.exit(main())
