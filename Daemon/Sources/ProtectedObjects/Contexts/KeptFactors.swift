import AccessControl
import Authenticators

/// How long what was proved in a context that keeps it counts there, on the boot clock.
struct KeptTime: Sendable {
    /// Without a use for this long it is gone.
    static let idleLimit = Duration.seconds(60)
    /// And after this long in any case.
    static let hardLimit = Duration.seconds(300)

    let since: Duration
    private var lastUse: Duration

    /// - Parameter since: when it was proved; what stands on something that was proved before is as old as that.
    init(since: Duration, now: Duration) { (self.since, lastUse) = (since, now) }

    /// When it is gone unless it is used before.
    var end: Duration { min(lastUse + Self.idleLimit, since + Self.hardLimit) }

    mutating func use(at now: Duration) { lastUse = now }
}

/// Factors that a context keeps for a bounded time, so that what is opened next in it asks nobody.
struct KeptFactors: Sendable {
    private(set) var held: HeldFactors
    /// An application password that the person entered ahead of the object that it opens, and that checks it.
    private(set) var password: Credential?
    private(set) var time: KeptTime

    /// What `evaluation` proved just now; nil when it proved nothing that can be kept. An application password is checked by
    /// the one object that it opens, so it is no factor that is kept; one that was entered ahead of its object is kept beside.
    init?(_ evaluation: Evaluation, password: Credential?, at now: Duration) {
        let proofs = evaluation.proofs.filter { $0.factor != .applicationPassword }
        guard !proofs.isEmpty || password != nil else { return nil }
        self.password = password
        held = HeldFactors(proofs: proofs)
        time = KeptTime(since: now, now: now)
    }

    /// When they are gone unless they are used before.
    var end: Duration { time.end }

    /// Notes a use, and takes in what was proved with it. The older proof sets the limit for all.
    mutating func use(at now: Duration, adding newer: KeptFactors?) {
        time.use(at: now)
        guard let newer else { return }
        held = held.adding(newer.held)
        password = newer.password ?? password
    }
}
