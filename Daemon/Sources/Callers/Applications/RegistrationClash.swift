/// What two registrations cannot both have. Its description says what the new one is to do.
enum RegistrationClash: Equatable, Sendable, CustomStringConvertible {
    case program
    case applicationID
    /// The new registration's group of this number is the other's application.
    case group(Int)
    /// The other has the new application as a group.
    case applicationIsGroup

    var description: String {
        switch self {
        case .program:
            "The program is registered already; `ostiary app adopt` is for a rebuilt one, and `ostiary app remove` takes the "
                + "registration back."
        case .applicationID:
            "The application id belongs to another program; choose another one, or take that registration back with "
                + "`ostiary app remove`."
        case .group(let number):
            "Access group \(number) is the application id of another program, which keeps it for itself; leave it out, or "
                + "register both programs with a group that is neither's id."
        case .applicationIsGroup:
            "The application id is an access group of another program, which would see what is kept under it; choose "
                + "another one."
        }
    }
}

extension Registration {
    /// Why two registrations cannot stand side by side; nil if they can. They name one program or one application, or one names
    /// the other's application as a group and would see what that one keeps for itself.
    func clash(with other: Registration) -> RegistrationClash? {
        if path == other.path { return .program }
        if applicationID == other.applicationID { return .applicationID }
        if let index = groups.firstIndex(of: other.applicationID) { return .group(index + 1) }
        return other.groups.contains(applicationID) ? .applicationIsGroup : nil
    }

    func clashes(with other: Registration) -> Bool { clash(with: other) != nil }
}
