/// Notices changes of the administrator's registrations. Each request looks at its caller several times, so the folder itself is looked at
/// no more than once a second.
struct SystemApplicationsWatch {
    /// How long a change may stay unnoticed. A look costs a system call for each file: too much for each signature.
    static let rest = Duration.seconds(1)

    private var lastLook: Duration?
    /// The stamps of the last look; nil if one was so young that a later change could leave it as it was.
    private var known: [String: FileStamp]?

    /// Whether a registration may have changed since the last look. Looks at the folder, unless the last look was a moment ago.
    ///
    /// - Parameter time: the time on a clock that nobody sets.
    mutating func seesChange(of applications: SystemApplications, at time: Duration) -> Bool {
        if let lastLook, time - lastLook < Self.rest { return false }
        lastLook = time
        let stamps = applications.stamps
        defer { known = stamps.values.allSatisfy(ContentDigests.isSettled) ? stamps : nil }
        return stamps != known
    }
}
