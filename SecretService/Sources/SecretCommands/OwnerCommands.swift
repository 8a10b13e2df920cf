public import ArgumentParser

/// The commands of the owner: `ostiary secrets enable` becomes `ostiary-secrets enable`, and so with the others.
public enum OwnerCommands {
    public static var all: [any ParsableCommand.Type] {
        [
            EnableCommand.self, DisableCommand.self, StatusCommand.self, ImportCommand.self, RuleCommand.self,
            ListCommand.self,
        ]
    }
}
