import AccessControl
import Authenticators

/// How long what was proved in a context that keeps it counts there, on the boot clock.
struct KeptTime: Sendable {
    /// When it was proved; what stands on something that was proved before is as old as that.
    let since: Duration
    let lifetime: Duration

    /// When it is gone, however often it was used.
    var end: Duration { since + lifetime }
}

/// Factors that a context keeps for a bounded time, so that what is opened next in it asks nobody.
struct KeptFactors: Sendable {
    let number = GrantNumber.next()
    private(set) var held: HeldFactors
    /// An application password that the person entered ahead of the object that it opens, and that checks it.
    private(set) var password: Credential?
    let time: KeptTime

    /// What `evaluation` proved just now; nil when it proved nothing that can be kept. An application password is checked by
    /// the one object that it opens, so it is no factor that is kept; one that was entered ahead of its object is kept beside.
    init?(_ evaluation: Evaluation, password: Credential?, _ time: KeptTime) {
        let proofs = evaluation.proofs.filter { $0.factor != .applicationPassword }
        guard !proofs.isEmpty || password != nil else { return nil }
        self.password = password
        held = HeldFactors(proofs: proofs)
        self.time = time
    }

    /// When they are gone.
    var end: Duration { time.end }

    /// Takes in what was proved later. The older proof sets the limit for all.
    mutating func add(_ newer: KeptFactors?) {
        guard let newer else { return }
        held = held.adding(newer.held)
        password = newer.password ?? password
    }
}
