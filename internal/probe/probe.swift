// Asks the neural engine of this machine for the results of a small model. It needs macOS 13, Apple
// silicon, Foundation and CoreML. It reads the files beside it and writes results.json.
//
//   swift probe.swift
import CoreML
import Foundation

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ text: String) { description = text }
}

struct Input: Decodable {
    let name: String
    let shape: [Int]
    let file: String
}

struct Description: Decodable {
    let probe: String
    let inputs: [Input]
    let outputs: [String]
}

func systemText(_ name: String) -> String {
    var size = 0
    sysctlbyname(name, nil, &size, nil, 0)
    var bytes = [CChar](repeating: 0, count: size + 1)
    sysctlbyname(name, &bytes, &size, nil, 0)
    return String(cString: bytes)
}

// Reads fp16 values, which are little-endian as on this machine, into an array.
func readArray(_ input: Input, in folder: URL) throws -> MLMultiArray {
    let data = try Data(contentsOf: folder.appendingPathComponent(input.file))
    let array = try MLMultiArray(shape: input.shape.map { NSNumber(value: $0) }, dataType: .float16)
    guard data.count == 2 * array.count else {
        throw Failure("\(input.file): \(data.count) bytes; want \(2 * array.count)")
    }
    let offsets = elementOffsets(shape: input.shape, strides: array.strides.map { $0.intValue })
    data.withUnsafeBytes { (from: UnsafeRawBufferPointer) in
        let to = array.dataPointer.assumingMemoryBound(to: UInt16.self)
        for (i, offset) in offsets.enumerated() {
            to[offset] = from.loadUnaligned(fromByteOffset: 2 * i, as: UInt16.self)
        }
    }
    return array
}

// The place of each element, in order. Rows of an array may have gaps between them.
func elementOffsets(shape: [Int], strides: [Int]) -> [Int] {
    var offsets = [0]
    for (size, stride) in zip(shape, strides) {
        offsets = offsets.flatMap { offset in (0..<size).map { offset + $0 * stride } }
    }
    return offsets
}

// Four hexadecimal digits for each fp16 value.
func formatBits(_ array: MLMultiArray) throws -> String {
    guard array.dataType == .float16 else {
        throw Failure("an output has type \(array.dataType.rawValue); want float16")
    }
    let digits = Array("0123456789abcdef".utf8)
    let from = array.dataPointer.assumingMemoryBound(to: UInt16.self)
    var text: [UInt8] = []
    let strides = array.strides.map { $0.intValue }
    for offset in elementOffsets(shape: array.shape.map { $0.intValue }, strides: strides) {
        let value = Int(from[offset])
        for shift in [12, 8, 4, 0] {
            text.append(digits[(value >> shift) & 15])
        }
    }
    return String(decoding: text, as: UTF8.self)
}

// The device that Core ML chose for each output, where the system can tell (macOS 14.4).
func findDevices(_ compiled: URL, _ configuration: MLModelConfiguration, _ outputs: [String]) async -> [String: String] {
    var devices: [String: String] = [:]
    #if compiler(>=5.10)
    if #available(macOS 14.4, *) {
        guard let plan = try? await MLComputePlan.load(contentsOf: compiled, configuration: configuration),
              case let .program(program) = plan.modelStructure,
              let main = program.functions["main"] else { return devices }
        for operation in main.block.operations {
            guard let name = operation.outputs.first?.name, outputs.contains(name),
                  let usage = plan.deviceUsage(for: operation) else { continue }
            switch usage.preferred {
            case .cpu: devices[name] = "cpu"
            case .gpu: devices[name] = "gpu"
            case .neuralEngine: devices[name] = "neuralEngine"
            @unknown default: break
            }
        }
    }
    #endif
    return devices
}

// Not inline: in an asynchronous function, the name means another method, which is not in macOS 13.
func predict(_ model: MLModel, _ values: MLFeatureProvider) throws -> MLFeatureProvider {
    return try model.prediction(from: values)
}

func run() async throws {
    let folder = URL(fileURLWithPath: CommandLine.arguments.count > 1 ? CommandLine.arguments[1] : ".")
    let text = try Data(contentsOf: folder.appendingPathComponent("probe.json"))
    let probe = try JSONDecoder().decode(Description.self, from: text)

    let compiled = try await MLModel.compileModel(at: folder.appendingPathComponent("probe.mlpackage"))
    defer { try? FileManager.default.removeItem(at: compiled) }
    let configuration = MLModelConfiguration()
    configuration.computeUnits = .cpuAndNeuralEngine
    let model = try MLModel(contentsOf: compiled, configuration: configuration)

    var values: [String: Any] = [:]
    for input in probe.inputs {
        values[input.name] = try readArray(input, in: folder)
    }
    let result = try predict(model, MLDictionaryFeatureProvider(dictionary: values))

    var outputs: [String: Any] = [:]
    for name in probe.outputs {
        guard let array = result.featureValue(for: name)?.multiArrayValue else {
            throw Failure("Core ML returned no output \(name)")
        }
        let text = try formatBits(array)
        outputs[name] = ["shape": array.shape.map { $0.intValue }, "bits": text] as [String: Any]
    }
    let devices = await findDevices(compiled, configuration, probe.outputs)
    let document: [String: Any] = [
        "probe": probe.probe,
        "machine": systemText("hw.model") + ", " + systemText("machdep.cpu.brand_string"),
        "system": ProcessInfo.processInfo.operatingSystemVersionString,
        "devices": devices,
        "outputs": outputs,
    ]
    let json = try JSONSerialization.data(withJSONObject: document, options: [.sortedKeys, .prettyPrinted])
    let file = folder.appendingPathComponent("results.json")
    try json.write(to: file)

    let elsewhere = devices.filter { $0.value != "neuralEngine" }.keys.sorted()
    print("wrote \(file.path): \(outputs.count) outputs")
    if devices.isEmpty {
        print("this system does not say on which device Core ML ran them")
    } else if elsewhere.isEmpty {
        print("Core ML ran all of them on the neural engine")
    } else {
        print("not on the neural engine: " + elsewhere.joined(separator: ", "))
    }
}

do {
    try await run()
} catch {
    FileHandle.standardError.write("probe.swift: \(error)\n".data(using: .utf8)!)
    exit(1)
}
