// Sign-ins: a PAM module asks the daemon of the machine to prove a user.
