"""What every test of a backend has."""

from fixtures_of_every_test import memory_of_one_file as memory_of_one_file
from fixtures_of_every_test import no_forced_colours as no_forced_colours
from fixtures_of_every_test import random_numbers_of_one_test as random_numbers_of_one_test
from fixtures_of_every_test import temporary_files_in_one_place as temporary_files_in_one_place
