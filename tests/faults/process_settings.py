"""Settings of a worker process under test: those of the tests, on the very database of the test that started it."""

import os

from tests.settings import *  # noqa: F403
from tests.settings import DATABASES

DATABASES["default"]["NAME"] = os.environ["SLACKLINE_TEST_DATABASE"]
