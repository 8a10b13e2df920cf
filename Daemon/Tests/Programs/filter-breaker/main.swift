// Filters its system calls as `ostiary-fido` does, and then carries out the act that its argument names. After `denied` it gives
// up calls as the daemon of the machine does, and its status is the error of the act.

import CLinuxShims
import DetachedThreads
import Dispatch
import Glibc
import SystemCallFilter

/// The error of the start of a program.
func spawnError() -> CInt {
    var child: pid_t = 0
    return posix_spawn(&child, "/bin/true", nil, nil, [nil], [nil])
}

/// The error of an act after the calls were given up; 0 if it was done.
func errorAfterGivingUp(_ deed: String) -> CInt {
    let isGivenUp = DispatchSemaphore(value: 0)
    if deed == "spawn-in-older-thread" {
        let isStarted = DetachedThread.start(stackByteCount: 256 * 1024) {
            isGivenUp.wait()
            _exit(spawnError())
        }
        guard isStarted else { return 250 }
    }
    guard DeniedCalls.ofMachinesDaemon.apply() else { return 251 }
    isGivenUp.signal()
    switch deed {
    case "spawn": return spawnError()
    case "execute": return execv("/bin/true", [nil]) == 0 ? 0 : errno
    case "open": return open("/dev/null", O_RDONLY) >= 0 ? 0 : errno
    case "spawn-in-older-thread": while true { pause() }
    default: return 252
    }
}

guard ostiary_forbid_dumps() == 0, ostiary_forbid_new_privileges() == 0 else { _exit(3) }
if CommandLine.arguments.count == 3, CommandLine.arguments[1] == "denied" {
    _exit(errorAfterGivingUp(CommandLine.arguments[2]))
}
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
