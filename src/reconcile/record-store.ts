import { digestOf } from "./digest.js";
import type { BookedEntry } from "./own-entry.js";
import type { PaymentSummary } from "./payment-summary.js";
import { type Piece, TemporaryFile } from "./temporary-file.js";

/** An entry or a payment, under what brings the two together. */
export type StoredRecord =
  | { readonly key: string; readonly entry: BookedEntry }
  | { readonly key: string; readonly payment: PaymentSummary };

/** So few of them have to fit into memory at a time: of two million records, 8,000. */
const partitionCount = 256;

/** Characters of a partition that are written together. */
const pieceLength = 32_768;

interface Partition {
  text: string;
  readonly pieces: Piece[];
}

/**
 * Takes records in any order and gives them back in parts, each with all records of its keys. As long as there are few, they stay in
 * memory. Then all go into a file, each into the partition of its key.
 */
export class RecordStore {
  readonly #mostInMemory: number;
  readonly #directory: string | undefined;
  #partitions: readonly Partition[] = [];
  readonly #memory: StoredRecord[] = [];
  #file: TemporaryFile | undefined;

  constructor(mostInMemory: number, directory: string | undefined) {
    this.#mostInMemory = mostInMemory;
    this.#directory = directory;
  }

  async add(record: StoredRecord): Promise<void> {
    if (this.#file !== undefined) return this.#write(this.#file, record);
    this.#memory.push(record);
    if (this.#memory.length <= this.#mostInMemory) return;
    const file = await TemporaryFile.open(this.#directory);
    this.#file = file;
    this.#partitions = Array.from({ length: partitionCount }, () => ({ text: "", pieces: [] }));
    for (const stored of this.#memory.splice(0)) await this.#write(file, stored);
  }

  async *parts(): AsyncGenerator<Iterable<StoredRecord>, void, undefined> {
    if (this.#file === undefined) {
      yield this.#memory;
      return;
    }
    for (const partition of this.#partitions) {
      const records: StoredRecord[] = [];
      for (const piece of partition.pieces) append(records, await this.#file.read(piece));
      append(records, partition.text);
      yield records;
    }
  }

  async close(): Promise<void> {
    await this.#file?.close();
  }

  async #write(file: TemporaryFile, record: StoredRecord): Promise<void> {
    const partition = this.#partitions[digestOf(record.key).low % partitionCount] as Partition;
    partition.text += `${JSON.stringify(record)}\n`;
    if (partition.text.length < pieceLength) return;
    const { text } = partition;
    partition.text = "";
    partition.pieces.push(await file.append(text));
  }
}

/** Lines are safe, since JSON has no line breaks of its own. */
function append(records: StoredRecord[], text: string): void {
  for (const line of text.split("\n")) {
    if (line !== "") records.push(JSON.parse(line) as StoredRecord);
  }
}
