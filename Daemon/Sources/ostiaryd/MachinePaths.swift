import Glibc
import HelperProcesses
import Opening

/// Where the files and sockets of the daemon of the machine are. No option of an installed daemon names another place, and no variable.
struct MachinePaths {
    /// What stands before each path: nothing, except in tests.
    private let root: String

    init(below root: String) { self.root = root }

    /// `StateDirectory=` of `ostiaryd.service`.
    var state: String { root + "/var/lib/ostiary" }
    var configuration: String { root + "/etc/ostiary/ostiaryd.conf" }
    /// Root's line that accepts an older copy of the store.
    var acceptance: String { root + "/etc/ostiary/accept-older-store" }
    var applications: String { root + BrokerConfiguration.systemApplicationsDirectory }
    var associations: String { root + BrokerConfiguration.systemAssociationsDirectory }
    /// Where `ostiaryd.socket` listens.
    var requests: String { root + "/run/ostiary/ostiaryd.socket" }
    /// Where `ostiaryd-pam.socket` listens.
    var signIns: String { root + "/run/ostiary/pam.socket" }
    /// The folder in which the sockets of the helpers' units are.
    var helpers: String { root + HelperRoads.socketFolder }

    /// Whose the configuration and the acceptance must be: root's. The daemon's own account does not count, because what took the daemon over could then
    /// write it.
    var ownerOfConfiguration: UInt32 { root.isEmpty ? 0 : geteuid() }
}
