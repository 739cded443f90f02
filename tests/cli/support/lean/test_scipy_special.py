"""Are scipy's special functions imported without their package, which others still get?"""

from __future__ import annotations

import subprocess
import sys

from tests.limits import PROCESS_S

CODE = """
import sys
from fireassay.cli.support.lean.scipy_special import import_special
import_special()
import_special()
assert not {"numpy.f2py", "numpy.testing", "unittest", "charset_normalizer", "scipy.special._basic"} & set(sys.modules)
from scipy.special import stdtrit
assert round(float(stdtrit(4, 0.975)), 3) == 2.776
assert "scipy.special._basic" not in sys.modules
from scipy.special import logsumexp  # not compiled: the package is imported
import scipy.special
assert round(float(logsumexp([0, 0])), 3) == 0.693 and scipy.special.stdtrit is stdtrit and scipy.special.softmax
import numpy
assert numpy.testing.assert_allclose and numpy.f2py.__name__
from scipy import optimize, stats
print(round(float(stats.t.ppf(0.975, 4)), 3))
"""


def test_the_package_stays_out_and_is_still_found() -> None:
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=False, timeout=PROCESS_S)
    assert (done.stdout, done.stderr) == ("2.776\n", "")
