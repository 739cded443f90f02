"""WHAT PAGES SHOW, AS FROZEN ROWS WITH VALUES: from a judgement to what stands in a line."""
