from assay.reports.format import *  # noqa temporary
from assay.reports.format import show, number, count, decimals_of
