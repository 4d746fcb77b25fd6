"""Learning by restarting: an attempt to run a script that stops early says what a substitute has to be in the next one."""

from torch_doctor.probe.lessons.course import Course
from torch_doctor.probe.lessons.lesson import Failure, Lesson
from torch_doctor.probe.lessons.reading import learn

__all__ = ["Course", "Failure", "Lesson", "learn"]
