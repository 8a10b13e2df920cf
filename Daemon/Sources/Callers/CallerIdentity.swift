import Foundation

/// Who a calling program is: the application that it was registered as, or the file that it runs.
package struct CallerIdentity: Equatable, Sendable {
    /// The name that the caller's rights are filed under: the application id, or without a registration the
    /// executable's path.
    let application: String
    /// The application id; nil without a registration that counts.
    package let applicationID: String?
    /// The groups of items that it sees, in order; new items go into the first.
    let accessGroups: [String]
    /// A program is registered at this path, and the file that runs is another one.
    package let isChanged: Bool
    /// The relying parties whose credentials it may make and use, if these confirm it.
    package let webCredentials: [String]
    /// Whether it may have this machine answer for any relying party.
    package let isBrowser: Bool
    /// The digest that the executable's file must keep; nil where the path says enough.
    let content: Data?

    /// A program without a registration, or with one that does not count for it.
    ///
    /// - Parameter groups: those that it shares; they come before its own.
    init(_ program: CallerProgram, sharing groups: [String] = [], isChanged: Bool = false) {
        application = program.application
        applicationID = nil
        accessGroups = groups + [program.application]
        self.isChanged = isChanged
        webCredentials = []
        isBrowser = false
        content = nil
    }

    init(_ registration: Registration) {
        application = registration.applicationID
        applicationID = registration.applicationID
        accessGroups = registration.accessGroups
        isChanged = false
        webCredentials = registration.webCredentials
        isBrowser = registration.isBrowser
        if case .content(let digest) = registration.identity { content = digest } else { content = nil }
    }
}
