import CBusObjects
import CSystemd
import Glibc

/// A call that came for a served object and was not handled yet.
struct Arrival {
    let message: BusMessage
    let handler: ServedMethod.Handler
    /// The types of the answer's values.
    let outputs: String
    /// The type of a property that is set: its value waits in a variant.
    var property: String?
}

/// Calls in the order of their coming. sd-bus's callbacks only put them here, and handlers run when sd-bus has returned: so a
/// handler may ask the bus something and wait for its answer.
final class Arrivals {
    private var calls: [Arrival] = []

    func add(_ call: Arrival) { calls.append(call) }

    func takeAll() -> [Arrival] {
        defer { calls = [] }
        return calls
    }
}

/// One served interface as sd-bus has it: a fallback vtable (sd_bus_add_fallback_vtable(3)).
///
/// sd-bus then compares the types of arguments and answers, describes the interface, and answers for its properties. One
/// callback for all messages (sd_bus_add_fallback(3)) would leave that to us. The table lies in C (`CBusObjects`): Swift does not
/// import the macros that fill it.
@safe
final class InterfaceTable {
    let interface: ServedInterface
    private let arrivals: Arrivals
    private let table: OpaquePointer

    /// Serves the interface until this value goes away.
    ///
    /// - Throws: `EINVAL` for a name or a type that D-Bus does not have, `EEXIST` for a name that occurs twice.
    init(_ interface: ServedInterface, at prefix: String, on bus: Bus, _ arrivals: Arrivals) throws(BusError) {
        self.interface = interface
        self.arrivals = arrivals
        let made = unsafe ostiary_bus_interface_new(
            interface.methods.count + interface.properties.count + interface.signals.count,
            { context, path in unsafe InterfaceTable.at(context).hasObject(String(cString: path)) ? 1 : 0 },
            { context, call in
                unsafe InterfaceTable.at(context).receive(BusMessage(owning: sd_bus_message_ref(call)))
            },
            { context, path, property, value, error in
                unsafe InterfaceTable.at(context).read(
                    String(cString: property), String(cString: path), into: value, error)
            })
        guard let made = unsafe made else { throw BusError("ostiary_bus_interface_new", code: ENOMEM) }
        unsafe self.table = unsafe made
        try addMembers()
        let context = unsafe Unmanaged.passUnretained(self).toOpaque()
        try unsafe BusError.check(
            ostiary_bus_interface_serve(table, bus.bus, prefix, interface.name, context), "sd_bus_add_fallback_vtable")
    }

    deinit { unsafe ostiary_bus_interface_free(table) }

    private static func at(_ context: UnsafeMutableRawPointer) -> InterfaceTable {
        // SAFETY: the table that has this context is freed with the object.
        unsafe Unmanaged<InterfaceTable>.fromOpaque(context).takeUnretainedValue()
    }

    private func addMembers() throws(BusError) {
        for method in interface.methods {
            try unsafe BusError.check(
                ostiary_bus_interface_add_method(table, method.name, method.inputs, method.outputs), method.name)
        }
        for property in interface.properties {
            let isWritable: CInt = property.write == nil ? 0 : 1
            try unsafe BusError.check(
                ostiary_bus_interface_add_property(
                    table, property.name, property.type, property.change.code, isWritable), property.name)
        }
        for signal in interface.signals {
            try unsafe BusError.check(
                ostiary_bus_interface_add_signal(table, signal.name, signal.types), signal.name)
        }
    }

    // MARK: what sd-bus calls

    func hasObject(_ path: String) -> Bool { interface.hasObject(path) }

    func property(_ name: String) -> ServedProperty? { interface.properties.first { $0.name == name } }

    private func receive(_ message: BusMessage) {
        let name = message.member
        guard let method = interface.methods.first(where: { $0.name == name }) else { return }
        arrivals.add(Arrival(message: message, handler: method.handler, outputs: method.outputs))
    }

    /// - Returns: 0, or the negative code that sd-bus has for the error.
    private func read(
        _ name: String, _ path: String, into value: OpaquePointer, _ error: UnsafeMutableRawPointer
    ) -> CInt {
        guard let property = property(name) else { return -ENOENT }
        var writer = unsafe BusWriter(to: value)
        do throws(BusFault) {
            try property.read(path, &writer)
            return 0
        } catch let fault {
            let place = unsafe error.assumingMemoryBound(to: sd_bus_error.self)
            return unsafe sd_bus_error_set(place, fault.name, fault.message)
        }
    }
}

extension ServedProperty.Change {
    fileprivate var code: CInt {
        switch self {
        case .never: CInt(OSTIARY_BUS_CONSTANT)
        case .withValue: CInt(OSTIARY_BUS_VALUE)
        case .withoutValue: CInt(OSTIARY_BUS_INVALIDATION)
        }
    }
}
