import MessageBus
import Synchronization

/// `org.freedesktop.Secret.Session`.
extension SecretService {
    func sessionInterface() -> ServedInterface {
        ServedInterface(
            SecretInterface.session, methods: [closeSession],
            hasObject: { [self] path in
                guard case .session(let number)? = ServedPath(path) else { return false }
                return sessions.withLock { $0.contains(number) }
            })
    }

    private var closeSession: ServedMethod {
        ServedMethod("Close") { [self] (call, _) throws(BusFault) in
            try sessions.withLock { (sessions) throws(BusFault) in
                try sessions.close(call.path, of: call.caller.name)
            }
            call.answer()
        }
    }
}
