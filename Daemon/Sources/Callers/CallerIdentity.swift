package import ExactNames
import Foundation
package import Refusals

/// How the file that a program runs compares with the one that was registered at its path.
package enum ProgramStanding: Equatable, Sendable {
    /// No program is registered at the path, or it is this file.
    case asRegistered
    /// It is another file.
    case changed
    /// A program is registered at the path, and the registration's row is missing or does not verify.
    case lost
    /// The list of registrations cannot be read, so nobody knows whether a program is registered at the path.
    case listUnreadable
    /// It cannot be read, so nothing is known.
    case unreadable
    /// It changed each time that it was read, so nothing is known.
    case changing
    /// It lies in a file system whose server may never answer, so it was not read.
    case foreignFileSystem
    /// It runs without the group that its registration names, or others can have that group.
    case withoutGroup

    init(_ error: ProgramFileError) {
        switch error {
        case .unreadable: self = .unreadable
        case .changing: self = .changing
        case .foreignFileSystem: self = .foreignFileSystem
        }
    }

    /// The refusal for the program at `path`; nil where its registration counts.
    package func refusal(of path: String) -> Refusal? {
        switch self {
        case .asRegistered: nil
        case .changed: .programChanged(path)
        case .lost: .registrationLost(path)
        case .listUnreadable: .registrationsUnreadable
        case .unreadable: .programUnreadable(path)
        case .changing: .programChanging(path)
        case .foreignFileSystem: .programOnForeignFileSystem(path)
        case .withoutGroup: .programWithoutGroup(path)
        }
    }
}

/// Who a calling program is: the application that it was registered as, or the file that it runs.
package struct CallerIdentity: Equatable, Sendable {
    /// The name that the caller's rights are filed under: the application id, or without a registration the
    /// executable's path.
    let application: ExactName
    /// The application id; nil without a registration that counts.
    package let applicationID: ExactName?
    /// The groups of items that it sees, in order; new items go into the first.
    let accessGroups: [ExactName]
    /// Only ``ProgramStanding/asRegistered`` gives the program what its registration says.
    package let standing: ProgramStanding
    /// The relying parties whose credentials it may make and use, if these confirm it.
    package let webCredentials: [ExactName]
    /// Whether it may have this machine answer for any relying party.
    package let isBrowser: Bool
    /// Whether it may make requests for its clients.
    package let isDoor: Bool
    /// Whether it runs with a group that nothing else has.
    let hasOwnGroup: Bool
    /// The digest that the executable's file must keep; nil where the path says enough.
    let content: Data?

    /// Whether it is Ostiary's command, as packages and `ostiary doors register` register it. In it the owner sees what all programs
    /// may do.
    package var isOwnersCommand: Bool { applicationID == "org.ostiary.command" }

    /// A program without a registration, or with one that does not count for it.
    ///
    /// - Parameter groups: those that it shares; they come before its own.
    init(_ program: CallerProgram, sharing groups: [ExactName] = [], standing: ProgramStanding = .asRegistered) {
        application = program.application
        applicationID = nil
        accessGroups = groups + [program.application]
        self.standing = standing
        webCredentials = []
        isBrowser = false
        isDoor = false
        hasOwnGroup = false
        content = nil
    }

    init(_ registration: Registration) {
        application = registration.applicationID
        applicationID = registration.applicationID
        accessGroups = registration.accessGroups
        standing = .asRegistered
        webCredentials = registration.webCredentials
        isBrowser = registration.isBrowser
        isDoor = registration.isDoor
        hasOwnGroup = registration.ownGroup != nil
        if case .content(let digest) = registration.identity { content = digest } else { content = nil }
    }
}
