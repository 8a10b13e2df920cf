import OstiaryClient

/// The part of a query about authentication: its use keys.
struct ItemAuthentication {
    /// Whether a prompt may come.
    enum Interface {
        case allow, fail
        /// Items that would need one are left out.
        case skip
    }

    let context: (any AuthenticationContext)?
    let prompt: String?
    let interface: Interface

    /// Prompts may come, under `context` if there is one.
    init(context: (any AuthenticationContext)?) {
        self.context = context
        prompt = nil
        interface = .allow
    }

    init(_ dictionary: QueryDictionary, for call: ItemCall) throws(StatusError) {
        guard dictionary[.use(.itemList)] == nil, dictionary[.use(.credentialReference)] == nil else {
            throw .parameter("Lists of items and credential references do not work here.")
        }
        context = try dictionary.context()
        prompt = try dictionary[.use(.operationPrompt)]?.text(of: "kSecUseOperationPrompt")
        interface = try dictionary.interface()
        guard interface != .skip || call == .find else { throw .parameter("Only a search can skip items.") }
    }

    /// How the daemon is asked.
    ///
    /// - Parameters:
    ///   - reason: shown when neither the query nor the context gives one.
    ///   - asksRepeatedly: the call may be several requests; without a context of the program's own they share one that
    ///     ends with the call, so that the person is asked once.
    func use(reason: String, asksRepeatedly: Bool = false) throws -> ItemUse {
        let given = try context?.authentication()
        var interaction = given?.interaction ?? Interaction(reason: "")
        if let prompt, !prompt.isEmpty { interaction.reason = prompt }
        if interaction.reason.isEmpty { interaction.reason = reason }
        if interface != .allow { interaction.isAllowed = false }
        let shared = asksRepeatedly && interaction.isAllowed ? AuthorizationContext(keepsFactors: true) : nil
        return ItemUse(context: given?.context ?? shared, interaction: interaction, skipsProtected: interface == .skip)
    }
}

extension QueryDictionary {
    fileprivate func context() throws(StatusError) -> (any AuthenticationContext)? {
        guard let value = self[.use(.authenticationContext)] else { return nil }
        guard case .object(let object) = value, let context = object as? any AuthenticationContext else {
            throw .parameter("kSecUseAuthenticationContext must be an LAContext.")
        }
        return context
    }

    fileprivate func interface() throws(StatusError) -> ItemAuthentication.Interface {
        let isForbidden = try self[.use(.noAuthenticationUI)]?.boolean(of: "kSecUseNoAuthenticationUI") ?? false
        switch self[.use(.authenticationUI)] {
        case nil: return isForbidden ? .fail : .allow
        case .text("u_AuthUIA")?: return isForbidden ? .fail : .allow
        case .text("u_AuthUIF")?: return .fail
        case .text("u_AuthUIS")?: return .skip
        default: throw .parameter("kSecUseAuthenticationUI must be one of its three constants.")
        }
    }
}
