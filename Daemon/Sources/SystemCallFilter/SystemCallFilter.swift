import CSeccomp
import Glibc

/// The list of the system calls that a helper may still make (seccomp(2)). Any other one ends the process.
package struct SystemCallFilter {
    /// Calls that any program of ours makes: memory that cannot be executed, locks, clocks, randomness, its end.
    private static let basics = [
        "brk", "munmap", "mremap", "madvise", "mlock", "mlock2", "munlock", "futex", "sched_yield", "clock_gettime",
        "clock_nanosleep", "nanosleep", "getrandom", "rt_sigprocmask", "rt_sigreturn", "sigaltstack", "getpid",
        "gettid",
        "restart_syscall", "exit", "exit_group",
    ]
    /// Calls whose third argument says whether memory may be executed.
    private static let mappings = ["mmap", "mprotect"]

    private let names: [String]

    /// - Parameter names: the system calls that the program needs besides the basic ones.
    package init(allowing names: [String]) { self.names = names }

    /// Begins to filter, on all threads. It cannot be taken back. Nothing gains rights any more either
    /// (PR_SET_NO_NEW_PRIVS).
    ///
    /// - Returns: false when the kernel or the library refused. The program must end then.
    package func apply() -> Bool {
        guard let context = seccomp_init(SCMP_ACT_KILL_PROCESS) else { return false }
        defer { seccomp_release(context) }
        guard seccomp_attr_set(context, SCMP_FLTATR_CTL_TSYNC, 1) == 0 else { return false }
        for name in Self.basics + names {
            guard Self.allow(name, [], in: context) else { return false }
        }
        for name in Self.mappings {
            let isNotExecutable = scmp_arg_cmp(
                arg: 2, op: SCMP_CMP_MASKED_EQ, datum_a: UInt64(PROT_EXEC), datum_b: 0)
            guard Self.allow(name, [isNotExecutable], in: context) else { return false }
        }
        return seccomp_load(context) == 0
    }

    private static func allow(_ name: String, _ conditions: [scmp_arg_cmp], in context: scmp_filter_ctx) -> Bool {
        let number = seccomp_syscall_resolve_name(name)
        guard number != __NR_SCMP_ERROR else { return false }
        return seccomp_rule_add_array(context, SCMP_ACT_ALLOW, number, UInt32(conditions.count), conditions) == 0
    }
}
