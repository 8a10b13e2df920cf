// Sign-ins, against a scripted module.
