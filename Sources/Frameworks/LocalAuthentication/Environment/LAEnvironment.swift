public import Foundation

/// How the owner of this machine can be authenticated, and a way to hear when that changes (Apple's `LAEnvironment`).
///
/// ```swift
/// final class SignInModel: NSObject, LAEnvironment.Observer {
///     func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State) {
///         showFingerButton(environment.state.biometry?.isUsable ?? false)
///     }
/// }
/// LAEnvironment.currentUser.addObserver(model)
/// ```
///
/// The daemon says what there is. Nothing is polled: while there are observers, one connection of this process waits for the
/// daemon, and one thread for the connection.
public final class LAEnvironment: NSObject, Sendable {
    private let service: any AuthorizationService
    private let observers: EnvironmentObservers

    init(service: any AuthorizationService) {
        self.service = service
        observers = EnvironmentObservers(service: service)
        super.init()
    }

    /// An environment that asks a daemon of the caller's choice.
    package static func environment(service: any AuthorizationService) -> LAEnvironment {
        LAEnvironment(service: service)
    }

    /// The environment of the user as whom this process runs (Apple's `currentUser`).
    public class var currentUser: LAEnvironment { ofCurrentUser }

    private static let ofCurrentUser = LAEnvironment(service: OstiaryService())

    /// How the user can be authenticated now. Blocks for a message to the daemon, which it starts if none runs. While the daemon
    /// cannot be asked, there is no mechanism.
    public var state: State { State(try? service.environment()) }

    /// Has `observer` called after each change, until it is removed or released; it is not kept alive. Adding it again does
    /// nothing. Blocks for a message to the daemon.
    ///
    /// Told after this call are a passcode that is set or removed, a lockout and its end, fingers that are enrolled, replaced
    /// or deleted where `ostiary-templates` runs, and a reader that is plugged in or out where udev announces USB devices. No
    /// passcode need have been entered before. Other changes are noticed, and then told, when any program next asks for the state.
    ///
    /// The calls come one after another, on a thread of this object. A daemon that ends and comes back is told only if something
    /// changed meanwhile. At most 32 processes of one program are told, and 128 of all programs; further ones wait until one of
    /// those ends, and then hear what has changed.
    public func addObserver(_ observer: any Observer) { observers.add(observer, of: self) }

    /// Calls `observer` no more, but for a call that is under way.
    public func removeObserver(_ observer: any Observer) { observers.remove(observer) }

    /// Is told when the environment has changed (Apple's `LAEnvironmentObserver`).
    public protocol Observer: NSObjectProtocol {
        /// The environment has changed: its ``LAEnvironment/state`` is the new one already.
        func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: State)
    }
}

/// The method is optional in Apple's protocol.
extension LAEnvironment.Observer {
    public func environment(_ environment: LAEnvironment, stateDidChangeFromOldState oldState: LAEnvironment.State) {}
}
