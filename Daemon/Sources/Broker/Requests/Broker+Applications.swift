import AccessControl
import Auditing
import Authenticators
import Callers
import ExactNames
import Foundation
import KeySlots
import Opening
import OstiaryMessages
import OwnerKeys
import Owners
import PromptProtocol
import Refusals
import Sessions
import ProtectedObjects

/// Programs that are known by a name of their own. Each change asks the owner: for the passcode, or while there is none
/// for a confirmation.
extension Broker {
    func registerApplication(_ body: WireRegisterApplicationRequest, _ exchange: Exchange) throws -> Reply {
        guard body.others.isEmpty else { return try registerApplications(body, exchange) }
        let asking = try exchange.asking(body.question)
        let former = body.adopts ? try exchange.account.formerRegistration(body) : nil
        let offered = exchange.request.file.map { OfferedProgram($0, isExecuted: false) }
        let registration = try exchange.account.registration(body, former: former, offered)
        try exchange.account.applications.requireFree(registration, besides: former)
        // A program that is adopted where it is left its former things behind when it was registered.
        let leftBehind =
            former?.path == registration.path
            ? nil : try exchange.account.leftBehind(at: registration.path, as: asking.requester)
        let event = exchange.event(
            body.adopts ? "application-adopt" : "application-register", object: registration.applicationID.text)
        try askOwner(
            body.adopts ? "adopt the program as \(registration.applicationID)" : Self.request(registration),
            registration.path.text, asking, exchange, for: event, consequence: leftBehind?.consequence,
            unshowable: Self.registrationTooLong)
        let standing = exchange.account.applications.standing(of: registration, offered: offered)
        if let refusal = standing.refusal(of: registration.path.text) { throw refusal }
        try commit([event], [registration, former].compactMap(\.self), exchange, asking) {
            try exchange.account.applications.store(registration, replacing: former)
        }
        var shown = exchange.account.shown(registration, registration.label(by: configuration.facts), offered)
        if let leftBehind, !leftBehind.isEmpty { shown.leftBehind = leftBehind.message }
        return Reply(.applications(.with { $0.applications = [shown] }))
    }

    /// Registers several programs with one question, which names each of them in full.
    private func registerApplications(_ body: WireRegisterApplicationRequest, _ exchange: Exchange) throws -> Reply {
        guard !body.adopts, body.webCredentials.isEmpty, !body.isBrowser,
            body.others.count < PromptObjects.maximumNameCount
        else { throw Self.notTogether }
        let (asking, account) = (try exchange.asking(body.question), exchange.account)
        let offered: [OfferedProgram?] =
            [exchange.request.file.map { OfferedProgram($0, isExecuted: false) }] + body.others.map { _ in nil }
        let registrations = try zip(body.separated, offered).map { try account.registration($0, former: nil, $1) }
        try account.applications.requireFree(together: registrations)
        let leftBehind = try registrations.map { try account.leftBehind(at: $0.path, as: asking.requester) }
        let events = registrations.map {
            exchange.event("application-register", object: $0.applicationID.text)
        }
        guard
            let objects = PromptObjects(
                registrations.map { ("\($0.path.text) \(Self.inShort($0))", DisplayText("")) }, noun: .object),
            objects.areAllNamedInFull
        else { throw Self.registrationTooLong }
        try askOwner(
            "register \(registrations.count) programs; a door asks in the name of other programs",
            registrations[0].path.text, asking, exchange, for: events[0],
            consequence: LeftBehind(adding: leftBehind).consequence, objects: objects,
            unshowable: Self.registrationTooLong)
        for (registration, offered) in zip(registrations, offered) {
            let standing = account.applications.standing(of: registration, offered: offered)
            if let refusal = standing.refusal(of: registration.path.text) { throw refusal }
        }
        try commit(events, registrations, exchange, asking) {
            for registration in registrations { try account.applications.store(registration) }
        }
        let shown = registrations.indices.map { index in
            var shown = account.shown(
                registrations[index], registrations[index].label(by: configuration.facts), offered[index])
            if !leftBehind[index].isEmpty { shown.leftBehind = leftBehind[index].message }
            return shown
        }
        return Reply(.applications(.with { $0.applications = shown }))
    }

    private static let notTogether = Refusal(
        .invalidParameter,
        "Only new programs without domains are registered together, at most \(PromptObjects.maximumNameCount) at once. "
            + "Register the others one by one.", cause: "application.together")

    /// All that is decided about one of several programs.
    private static func inShort(_ registration: Registration) -> String {
        let groups =
            registration.groups.isEmpty ? "" : " with the groups \(registration.groups.texts.joined(separator: ", "))"
        return "as \(registration.applicationID)\(groups)\(registration.isDoor ? ", as a door" : "")"
    }

    /// Registrations of one page: each may hold a path of 4,096 bytes, and groups and domains of as many, and a message must stay below
    /// `messageByteCount`.
    private static let pageCount = 20

    func listApplications(_ body: WireListApplicationsRequest, _ exchange: Exchange) throws -> Reply {
        try exchange.account.applications.requireRead()
        let all = exchange.account.applications.all()
        return Reply(
            .applications(
                .with {
                    $0.applications = all.dropFirst(Int(body.offset)).prefix(Self.pageCount)
                        .map { exchange.account.shown($0, $0.label(by: configuration.facts)) }
                    $0.total = UInt32(clamping: all.count)
                }))
    }

    func removeApplication(_ body: WireRemoveApplicationRequest, _ exchange: Exchange) throws -> Reply {
        let asking = try exchange.asking(body.question)
        let name = ExactName(body.applicationID)
        let registration = try exchange.account.ownRegistration { $0.applicationID == name }
        let event = exchange.event("application-remove", object: registration.applicationID.text)
        try askOwner(
            "remove the registration of \(registration.applicationID)", registration.path.text, asking, exchange,
            for: event)
        try commit([event], [registration], exchange, asking) {
            try exchange.account.applications.remove(registration)
        }
        return Reply(.done(.with { $0.count = 1 }))
    }

    // MARK: the owner

    private static func request(_ registration: Registration) -> String {
        let groups =
            registration.groups.isEmpty ? "" : " with the groups \(registration.groups.texts.joined(separator: ", "))"
        let domains = registration.webCredentials.texts.joined(separator: ", ")
        let credentials = domains.isEmpty ? "" : ", and let it make and use credentials for \(domains)"
        let browser =
            registration.isBrowser ? ", and let it use passkeys of this machine for any domain, as a browser" : ""
        let door = registration.isDoor ? ", and let it ask in the name of other programs, as a door" : ""
        return "register the program as \(registration.applicationID)\(groups)\(credentials)\(browser)\(door)"
    }

    /// Asks the owner: for the passcode, or while there is none for a confirmation. Shows all that is decided, or asks
    /// nothing: what a prompt would cut off would be approved unseen.
    ///
    /// - Parameters:
    ///   - object: the name of the thing that the question is about, for example the path of a program.
    ///   - objects: all things that the question is about, if there are several; each named in full.
    ///   - unshowable: thrown if object or operation is too long for a prompt.
    func askOwner(
        _ operation: String, _ object: String, _ asking: Asking, _ exchange: Exchange, for event: AuditTrail.Event,
        consequence: DisplayText? = nil, objects: PromptObjects? = nil, unshowable: Refusal = Broker.nameTooLong
    ) throws {
        guard let shown = DisplayText(wholeFact: object), let text = DisplayText(wholeFact: operation) else {
            throw unshowable
        }
        guard exchange.account.ring.isPasscodeSet else {
            let question = PromptQuestion(
                .confirmation(warning: Self.answeredByAnyProgram), objects: objects ?? PromptObjects(shown),
                operation: text,
                consequence: consequence, reason: asking.question.reason, cancelTitle: asking.question.cancelTitle,
                isShownInFull: true, isUnproved: true)
            return try Questioning(prompter: prompter, asking: asking).confirmation(question)
        }
        _ = try provePasscode(
            operation, object: object, objects: objects, consequence: consequence, isShownInFull: true, asking,
            exchange, for: event)
    }

    private static let answeredByAnyProgram = DisplayText(
        "No passcode is set, so any program of yours can answer this question.")

    static let nameTooLong = Refusal(
        .invalidParameter, "The name does not fit into the prompt, so nothing was asked.", cause: "name.unshowable")

    private static let registrationTooLong = Refusal(
        .invalidParameter,
        "The path and the groups are too long for the prompt, so nothing was asked. Name fewer groups.",
        cause: "application.unshowable")

    /// Carries out a change of registrations, together with its records.
    ///
    /// - Parameter registrations: those that come or go.
    private func commit(
        _ events: [AuditTrail.Event], _ registrations: [Registration], _ exchange: Exchange, _ asking: Asking,
        _ change: () throws -> Void
    ) throws {
        try exchange.verifyCaller()
        try exchange.account.changing.withLock {
            try asking.cancellation.check()
            for event in events { try exchange.trail.change(event) }
            try change()
        }
        // Grants and leases of the programs under their former names end with that.
        let paths = registrations.map(\.path)
        sessions.endGrants(ofPrograms: paths, besides: exchange.session)
        exchange.account.leases.end(ofPrograms: paths + registrations.map(\.applicationID))
        for event in events { exchange.trail.note(event) }
    }
}

extension WireRegisterApplicationRequest {
    /// A request for each program.
    fileprivate var separated: [WireRegisterApplicationRequest] {
        [self]
            + others.map { other in
                .with {
                    ($0.path, $0.applicationID) = (other.path, other.applicationID)
                    ($0.accessGroups, $0.isDoor) = (other.accessGroups, other.isDoor)
                }
            }
    }
}

extension OwnerAccount {
    /// The registration that the request asks for, of the file as it is now.
    fileprivate func registration(
        _ body: WireRegisterApplicationRequest, former: Registration?, _ offered: OfferedProgram?
    ) throws -> Registration {
        let file = try ProgramFile(path: body.path, offered: offered)
        let identity: Registration.Identity
        do { identity = try file.identity(applications.digests) } catch .changing {
            throw Refusal.programChanging(file.path.text)
        } catch .foreignFileSystem {
            throw Refusal.programOnForeignFileSystem(file.path.text)
        } catch {
            throw Refusal.programUnreadable(file.path.text)
        }
        let registration = Registration(
            applicationID: former?.applicationID ?? ExactName(body.applicationID),
            groups: former?.groups ?? body.accessGroups.map { ExactName($0) },
            webCredentials: former?.webCredentials ?? body.webCredentials.map { ExactName($0) },
            isBrowser: former?.isBrowser ?? body.isBrowser, isDoor: former?.isDoor ?? body.isDoor,
            path: file.path, identity: identity)
        if let defect = registration.defect {
            throw Refusal(.invalidParameter, "\(defect)", cause: "application.name")
        }
        return registration
    }

    /// The registration that a rebuilt program had: the one of its path, or after it moved the one that is named.
    fileprivate func formerRegistration(_ body: WireRegisterApplicationRequest) throws(Refusal) -> Registration {
        guard body.accessGroups.isEmpty, body.webCredentials.isEmpty, !body.isBrowser, !body.isDoor else {
            throw Refusal(
                .invalidParameter,
                "An adopted program keeps its groups, domains and rights of a browser or door; name none.",
                cause: "application.name")
        }
        let (path, name) = (ExactName(body.path), ExactName(body.applicationID))
        return try ownRegistration { name.isEmpty ? $0.path == path : $0.applicationID == name }
    }

    fileprivate func ownRegistration(where fits: (Registration) -> Bool) throws(Refusal) -> Registration {
        try applications.requireRead()
        guard let registration = applications.all().first(where: fits) else { throw ApplicationRegistry.notFound }
        guard !registration.isOfSystem else {
            throw Refusal(
                .operationNotPermitted,
                "The administrator registered this program; only the administrator can change that.",
                cause: "application.of-system")
        }
        return registration
    }

    fileprivate func shown(
        _ registration: Registration, _ label: ProgramLabel, _ offered: OfferedProgram? = nil
    ) -> WireApplication {
        let standing = applications.standing(of: registration, offered: offered)
        return .with {
            $0.path = registration.path.text
            $0.applicationID = registration.applicationID.text
            $0.accessGroups = registration.groups.texts
            $0.webCredentials = registration.webCredentials.texts
            $0.isBrowser = registration.isBrowser
            $0.isDoor = registration.isDoor
            $0.label = label.rawValue
            $0.changed = [.changed, .withoutGroup].contains(standing)
            $0.unverified = [.unreadable, .changing, .foreignFileSystem].contains(standing)
            $0.ofSystem = registration.isOfSystem
        }
    }
}
