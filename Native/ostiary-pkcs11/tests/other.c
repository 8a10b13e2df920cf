// Another library of the host with a function of the same name.
unsigned long C_GetInfo(void *info);
unsigned long C_GetInfo(void *info) { return (void)info, 4711; }
