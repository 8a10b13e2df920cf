import Cancellations
import MessageBus
import SecretItems
import UnixSocket

/// `org.freedesktop.impl.portal.Secret`, the backend of the secret portal, and its requests.
extension SecretService {
    /// What the portal is told of a request's end.
    private enum PortalResponse: UInt32 {
        case success = 0
        case cancelled = 1
        case failed = 2
    }

    private struct RetrieveRequest: Sendable {
        let handle: String
        let application: String
        let pipe: SecretPipe
    }

    func portalInterface() -> ServedInterface {
        ServedInterface(
            PortalRequests.interface, methods: [retrieveSecret],
            properties: [
                ServedProperty("version", "u", changes: .never) { (_, value) throws(BusFault) in
                    try value.append(UInt32(1))
                }
            ], hasObject: { $0 == PortalRequests.path })
    }

    func portalRequestInterface() -> ServedInterface {
        ServedInterface(
            PortalRequests.requestInterface, methods: [closeRequest],
            hasObject: { [portal] path in portal.contains(path) })
    }

    private var closeRequest: ServedMethod {
        ServedMethod("Close") { [portal] (call, _) throws(BusFault) in
            guard portal.cancel(call.path, of: call.caller.name) else { throw .accessDenied }
            call.answer()
        }
    }

    /// The application's name is the portal's word, so nobody else may say it.
    private var retrieveSecret: ServedMethod {
        method(
            "RetrieveSecret", "osha{sv}", returns: "ua{sv}",
            reading: { (arguments) throws(BusFault) -> RetrieveRequest in
                let (handle, application) = (try arguments.readObjectPath(), try arguments.readString())
                let pipe = SecretPipe(descriptor: try arguments.readDescriptor())
                try arguments.skip()
                return RetrieveRequest(handle: handle, application: application, pipe: pipe)
            },
            { [self] (call, client, request) throws(BusFault) in
                guard bus.isOwner(call.caller.name, of: PortalRequests.frontend),
                    client.store.isSystemProgram(named: PortalRequests.frontendFile)
                else {
                    throw .denied(
                        "Only the portal (\(PortalRequests.frontend), the system's \(PortalRequests.frontendFile)) asks for secrets of "
                            + "applications.")
                }
                guard let application = ApplicationName(request.application) else {
                    throw .invalid("The portal names no application in a sandbox.")
                }
                try retrieve(call, client, request, application)
            })
    }

    private func retrieve(
        _ call: BusCall, _ client: ServiceClient, _ request: RetrieveRequest, _ application: ApplicationName
    ) throws(BusFault) {
        guard let taken = portal.begin(request.handle, of: call.caller.name) else {
            throw .invalid("The handle is none, or it is in use.")
        }
        let secrets = ApplicationSecrets(store: client.store)
        do throws(StoreRefusal) {
            try request.pipe.write(secrets.secret(of: application, asking: nil))
            finish(call, request, .success)
        } catch {
            guard error == .locked || error == .needsQuestion else {
                return finish(call, request, Self.response(error))
            }
            ask(call, client, request) { cancellation in
                taken.whenCancelled { cancellation.cancel() }
                let words = SecretWords.application(application.text)
                let question = SecretQuestion(words, cancellation: cancellation)
                do throws(StoreRefusal) {
                    try request.pipe.write(secrets.secret(of: application, asking: question))
                    return nil
                } catch { return error }
            }
        }
    }

    /// Has the person open the store; the call's answer says how that ended.
    private func ask(
        _ call: BusCall, _ client: ServiceClient, _ request: RetrieveRequest,
        _ work: @escaping @Sendable (Cancellation) -> StoreRefusal?
    ) {
        let question = AskingLane.Question(
            peer: call.caller.name, items: [],
            ask: { [self] cancellation in
                let refusal = work(cancellation)
                if refusal == nil { noteOpen() }
                finish(call, request, refusal.map { Self.response($0) } ?? .success)
                return refusal
            }, refuse: { [self] in finish(call, request, Self.response($0)) })
        do throws(StoreRefusal) {
            withdraw(try clients.ask(question, for: client), of: client, unlessStays: call.caller.name)
        } catch { finish(call, request, Self.response(error)) }
    }

    private static func response(_ refusal: StoreRefusal) -> PortalResponse {
        switch refusal {
        case .declined, .cancelled: .cancelled
        default: .failed
        }
    }

    private func finish(_ call: BusCall, _ request: RetrieveRequest, _ response: PortalResponse) {
        portal.finish(request.handle)
        call.answer { (values) throws(BusFault) in
            try values.append(response.rawValue)
            try values.appendArray(of: "{sv}") { (_) throws(BusFault) in }
        }
    }
}
