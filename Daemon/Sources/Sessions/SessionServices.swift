package import Auditing
import Authenticators
import ExactNames
package import Logging
package import Owners
package import Passcodes
package import ProcessFacts
import ProtectedObjects
package import Threading

/// The parts that all sessions of a daemon share.
package final class SessionServices: Sendable {
    /// The owners whose programs are served.
    package let owners: OwnerRegistry
    /// What the machine says about callers.
    package let facts: any CallerFacts
    package let registry: SessionRegistry
    package let environment: EnvironmentFollower
    package let itemWatches: ItemWatches
    package let grantEnds = WorkThread(name: "ostiary-grant-ends")
    let slowRequests: SlowRequestQuota
    let readings: SlowRequestQuota
    let clients: SlowRequestQuota
    let grants: ProgramQuota
    let clock: any BootClock
    let contextLifetime: Duration
    /// Whether uses of keys may run on the connections' own threads.
    let isEnclaveImmediate: Bool
    package let log: Logger
    /// What programs may write into the log.
    package let callerLines: CallerLines

    package init(
        owners: OwnerRegistry, facts: any CallerFacts, limits: SessionLimits, clock: any BootClock,
        contextLifetime: Duration, isEnclaveImmediate: Bool, log: Logger, callerLines: CallerLines
    ) {
        (self.owners, self.facts) = (owners, facts)
        registry = SessionRegistry(limits.connections)
        slowRequests = SlowRequestQuota(limits.slowRequests)
        readings = SlowRequestQuota(limits.readings)
        clients = SlowRequestQuota(limits.clients)
        grants = ProgramQuota.grants(limits.grants)
        self.clock = clock
        self.contextLifetime = contextLifetime
        self.isEnclaveImmediate = isEnclaveImmediate
        self.log = log
        self.callerLines = callerLines
        itemWatches = ItemWatches(limits.itemWatches)
        environment = EnvironmentFollower(of: owners, limits.watches, clock: clock, log: log)
    }

    /// Contexts of a connected program or a client, numbered with the others of its connection.
    func makeContexts(
        _ numbers: ContextNumbers, of program: ProgramOfOwner, ended: @escaping GrantEndHandler
    ) -> ContextTable {
        ContextTable(
            clock: clock, lifetime: contextLifetime, quota: grants, program: program, numbers: numbers, ended: ended)
    }
}
