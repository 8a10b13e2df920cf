import CSeccomp
import Glibc

/// System calls that a process gives up (seccomp(2)). From then on each of them fails with EPERM.
package struct DeniedCalls: Sendable {
    /// Those of the daemon of the machine, which needs none of them: to start a program, to look into another process or take
    /// something out of it, and to mount.
    package static let ofMachinesDaemon = DeniedCalls([
        "execve", "execveat", "ptrace", "process_vm_readv", "process_vm_writev", "pidfd_getfd", "kcmp", "mount",
    ])

    private let names: [String]

    package init(_ names: [String]) { self.names = names }

    /// Gives the calls up, on all threads. It cannot be taken back. Nothing gains rights any more either (PR_SET_NO_NEW_PRIVS).
    ///
    /// - Returns: false when the kernel or the library refused. Then nothing is given up.
    package func apply() -> Bool {
        guard let context = seccomp_init(SCMP_ACT_ALLOW) else { return false }
        defer { seccomp_release(context) }
        guard seccomp_attr_set(context, SCMP_FLTATR_CTL_TSYNC, 1) == 0 else { return false }
        for name in names {
            let number = seccomp_syscall_resolve_name(name)
            guard number != __NR_SCMP_ERROR, seccomp_rule_add_array(context, Self.refusal, number, 0, nil) == 0 else {
                return false
            }
        }
        return seccomp_load(context) == 0
    }

    /// SCMP_ACT_ERRNO(EPERM), which is a macro.
    private static let refusal: UInt32 = 0x0005_0000 | UInt32(EPERM)
}
