import AccessControl
import ArgumentParser

/// `--allow-leases` of the commands that make a key which confirms each signature.
struct LeaseOptions: ParsableArguments {
    @Flag(
        help: """
            Where each signature is confirmed: let you agree to further signatures of a program for a time (a lease). Otherwise \
            each signature is confirmed, without exception.
            """)
    var allowLeases = false

    @Option(help: ArgumentHelp("The longest lease (default: 1h).", valueName: "time")) var leaseTime: LeaseTime?

    @Option(help: ArgumentHelp("The most uses of a lease.", valueName: "count")) var leaseUses: UInt32?

    /// As long as somebody sits at one piece of work.
    private static let usualSeconds: UInt32 = 3600

    func validate() throws {
        guard allowLeases || leaseTime == nil && leaseUses == nil else {
            throw ValidationError("--lease-time and --lease-uses belong to --allow-leases.")
        }
        do { _ = try given() } catch { throw ValidationError("The limits of leases cannot be used: \(error).") }
    }

    /// Nil when no lease is allowed.
    func given() throws(GrantLimitsError) -> GrantLimits? {
        guard allowLeases else { return nil }
        return try GrantLimits(hardSeconds: leaseTime?.seconds ?? Self.usualSeconds, uses: leaseUses)
    }
}
