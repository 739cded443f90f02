"""`python -m fireassay.cli`."""

import sys

from fireassay.isolated import leave_current_folder

leave_current_folder()

from fireassay.cli import main  # noqa: E402

sys.exit(main())
