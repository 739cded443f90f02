"""How does `python -m assay` start the command line?"""

import sys

from assay.isolated import leave_current_folder

leave_current_folder()

from assay.cli import main  # noqa: E402

sys.exit(main())
