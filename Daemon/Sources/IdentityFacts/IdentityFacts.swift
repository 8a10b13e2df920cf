// Facts about callers, from the helper that may look at the processes of every user.
