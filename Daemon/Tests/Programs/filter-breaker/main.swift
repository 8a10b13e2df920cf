// Filters its system calls as `ostiary-fido` does, and then carries out the act that its argument names.

import CLinuxShims
import Glibc
import SystemCallFilter

guard ostiary_forbid_dumps() == 0, ostiary_forbid_new_privileges() == 0 else { _exit(3) }
let deed = CommandLine.arguments.count == 2 ? CommandLine.arguments[1] : ""
guard SystemCallFilter(allowing: ["read", "write"]).apply() else { _exit(2) }
switch deed {
case "nothing": _ = write(1, "", 0)
case "open": _ = open("/dev/null", O_RDONLY)
case "socket": _ = socket(AF_UNIX, CInt(SOCK_STREAM.rawValue), 0)
case "execute": _ = execv("/bin/true", [nil])
case "fork":
    var child: pid_t = 0
    _ = posix_spawn(&child, "/bin/true", nil, nil, [nil], [nil])
case "trace": _ = kill(1, 0)
case "map-executable": _ = mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
case "protect-executable":
    let page = mmap(nil, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
    _ = mprotect(page, 4096, PROT_READ | PROT_EXEC)
case "thread":
    var thread = pthread_t()
    _ = pthread_create(&thread, nil, { _ in nil }, nil)
default: _exit(4)
}
_exit(0)
