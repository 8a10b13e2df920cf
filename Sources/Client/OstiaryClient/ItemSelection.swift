import Cancellations
public import Foundation
import OstiaryMessages

/// Which keychain items a call is about: those of a class whose attributes all match. Items of access groups that are not
/// the program's are as good as absent.
public struct ItemSelection: Sendable, Equatable {
    /// Whether items marked as synchronizable are meant. The mark is an attribute only: nothing leaves the machine.
    public enum Synchronizable: Sendable {
        case no, yes, any
    }

    /// `genp`, `inet`, `keys`, `cert` or `free`.
    public var itemClass: String
    public var attributes: ItemAttributeValues
    public var synchronizable: Synchronizable
    /// 16 bytes that name one item. It matches only if the attributes that are given beside them do.
    public var id: Data?
    /// Keeps internet passwords whose server is this host or one below it.
    public var hostOrSubdomainOf: String?

    public init(
        itemClass: String, attributes: ItemAttributeValues = [:], synchronizable: Synchronizable = .no, id: Data? = nil,
        hostOrSubdomainOf: String? = nil
    ) {
        self.itemClass = itemClass
        self.attributes = attributes
        self.synchronizable = synchronizable
        self.id = id
        self.hostOrSubdomainOf = hostOrSubdomainOf
    }

    var message: WireItemQuery {
        .with {
            $0.itemClass = itemClass
            $0.attributes = WireAttribute.list(attributes)
            $0.synchronizable = synchronizable.message
            $0.itemID = id ?? Data()
            $0.hostOrSubdomainOf = hostOrSubdomainOf ?? ""
        }
    }
}

extension ItemSelection.Synchronizable {
    fileprivate var message: WireSynchronizable {
        switch self {
        case .no: .unspecified
        case .yes: .yes
        case .any: .any
        }
    }
}

/// The context for protected items, and the way to ask the person for missing factors.
public struct ItemUse: Sendable {
    /// Holds the proofs. Nil: a proof counts only for the call that asked for it.
    public var context: AuthorizationContext?
    /// Nil: nobody is asked, and what would need it is refused with `notInteractive`.
    public var interaction: Interaction?
    /// A search leaves out items that would ask the person.
    public var skipsProtected: Bool
    /// Ends the call early, from any thread, and its question with it: the call throws `appCancel`.
    package var cancellation: Cancellation?

    public init(context: AuthorizationContext? = nil, interaction: Interaction? = nil, skipsProtected: Bool = false) {
        self.context = context
        self.interaction = interaction
        self.skipsProtected = skipsProtected
    }

    /// Whether somebody may be asked.
    var mayAsk: Bool { interaction?.isAllowed ?? false }

    /// How a request treats the question that it might need.
    enum QuestionHandling {
        /// The question goes along.
        case sending
        /// It stays here, and the daemon says when it needs one.
        case withholding
        /// It goes along because the daemon said that it needs one.
        case following
    }

    func message(contextID: UInt64, _ handling: QuestionHandling) -> WireItemUse {
        .with {
            $0.contextID = contextID
            if let interaction, handling != .withholding { $0.question = interaction.question }
            $0.skipsProtected = skipsProtected
            $0.withholdsQuestion = handling == .withholding
            $0.expectsQuestion = handling == .following
        }
    }
}

/// How many items match a selection, as far as that can be told without a proof.
public struct ItemCount: Sendable, Equatable {
    /// Items that are neither locked nor under a rule.
    public var counted: Int
    /// Whether no other item matches.
    public var isComplete: Bool

    public static let one = ItemCount(counted: 1, isComplete: true)

    public init(counted: Int, isComplete: Bool) {
        self.counted = counted
        self.isComplete = isComplete
    }
}
