package import ProcessFacts
package import PromptProtocol

/// Where a calling process runs, as root and the kernel say it.
struct CallerPlace: Sendable {
    private let isInSystemUnit: Bool
    private let isInSandbox: Bool

    /// A fact that cannot be read leads to the weaker label.
    init(_ process: any HeldProcess) {
        isInSystemUnit = (try? process.controlGroups()).map(ControlGroups.areOfSystemUnit) ?? false
        isInSandbox = (try? process.isInOwnUserNamespace()) != true
    }

    /// - Parameter identity: who the caller is; nil as long as that was not determined.
    func label(for identity: CallerIdentity?) -> ProgramLabel {
        if identity?.hasOwnGroup == true { return .setgid }
        if isInSystemUnit { return .systemUnit }
        if identity?.applicationID != nil { return .registered }
        return isInSandbox ? .sandbox : .advisory
    }
}

extension Registration {
    /// How far a program with this registration can be trusted, wherever it runs.
    package func label(by facts: any CallerFacts) -> ProgramLabel {
        guard !facts.areOfCallersAccount else { return .advisory }
        return ownGroup == nil ? .registered : .setgid
    }
}
