/**
 * Plays episodes on an RLFactory environment service; the protocol is `proto/envs/v1/env.proto`.
 *
 *     const client = await EnvClient.connect("http://127.0.0.1:7000");
 *     const session = await client.begin("tiny.wifi", { seed: 7n });
 *     const turn = await session.step([{ name: "phone", arguments: { action: "key", key: "HOME" } }]);
 *     await session.close();
 *
 * What fails is an `EnvError` that says who is to blame. A model's mistake is no failure but a result of its call.
 */
import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { Code, ConnectError, createClient, type Client, type Interceptor } from "@connectrpc/connect";
import { createGrpcTransport } from "@connectrpc/connect-node";
import {
  EnvService,
  EpisodeState,
  type HandshakeResponse,
  type Observation,
  type OptionsSchema,
  type ResetResponse,
  Split,
  type StepResponse,
  StepRequestSchema,
  type Task,
} from "./gen/envs/v1/env_pb.js";
import { ErrorInfoSchema } from "./gen/google/rpc/error_info_pb.js";

export * from "./gen/envs/v1/env_pb.js";

const PROTOCOL = 2;
const DOMAIN = "rlfactory";
const FIRST_BACKOFF_MS = 50;
const MAX_BACKOFF_MS = 500;

export type Blame = "client" | "environment" | "infrastructure" | "judge";

/** A call that failed. `retryable`: another attempt at the whole episode may succeed. */
export class EnvError extends Error {
  constructor(
    message: string,
    readonly reason: string,
    readonly blame: Blame,
    readonly retryable: boolean,
  ) {
    super(message);
    this.name = "EnvError";
  }
}

export interface ConnectOptions {
  /** What the service knows its client by. */
  token?: string;
  /** Capabilities without which the service is of no use, as in HandshakeRequest. */
  needs?: string[];
  /** How long a call is repeated after a failure of transport. */
  patienceMs?: number;
}

export interface BeginOptions {
  seed: bigint;
  split?: Split;
  options?: MessageInitShape<typeof OptionsSchema>;
}

export interface Call {
  name: string;
  arguments: Record<string, unknown>;
  /** Unique in its step; its index by default. */
  id?: string;
}

/** Deadlines of one attempt. */
const CALL_MS = 10_000;
const RESET_MS = 120_000;
const STEP_SLACK_MS = 5_000;

export class EnvClient {
  private constructor(
    private readonly service: Client<typeof EnvService>,
    private readonly patienceMs: number,
    readonly handshake: HandshakeResponse,
  ) {}

  /** Connect to a service at `http://host:port` or `https://host:port`, and agree on the protocol. */
  static async connect(baseUrl: string, { token, needs = [], patienceMs = 10_000 }: ConnectOptions = {}) {
    const authorize: Interceptor = (next) => (request) => {
      if (token) request.header.set("authorization", `Bearer ${token}`);
      return next(request);
    };
    const service = createClient(EnvService, createGrpcTransport({ baseUrl, interceptors: [authorize] }));
    const asked = { oldestProtocol: PROTOCOL, newestProtocol: PROTOCOL, needs };
    const handshake = await repeated(patienceMs, () => service.handshake(asked, { timeoutMs: CALL_MS }));
    return new EnvClient(service, patienceMs, handshake);
  }

  /** The tasks on offer, sorted by name. */
  async listTasks(suite = "", split = Split.UNSPECIFIED): Promise<Task[]> {
    const answer = await this.repeated(() => this.service.listTasks({ suite, split }, { timeoutMs: CALL_MS }));
    return answer.tasks;
  }

  /** Begin an episode, once, however often its answer is lost on the way. */
  async begin(task: string, { seed, split, options }: BeginOptions): Promise<Session> {
    const request = { task, seed, split, options, requestId: randomUUID() };
    const begun = await this.repeated(() => this.service.reset(request, { timeoutMs: RESET_MS }));
    return new Session(this, begun, (options?.stepTimeoutS ?? 30) * 1000);
  }

  /** Repeat a call that is safe to repeat, after failures of transport only: an answer of the service is final. */
  repeated<T>(attempt: () => Promise<T>): Promise<T> {
    return repeated(this.patienceMs, attempt);
  }

  /** The calls of the protocol themselves. */
  get calls(): Client<typeof EnvService> {
    return this.service;
  }
}

/** One episode. The service ends it when no call has come for the time of its lease: `renew` while a model thinks. */
export class Session {
  readonly id: string;
  readonly goal: string;
  observation: Observation;
  state = EpisodeState.RUNNING;
  private seq = 0n;
  private readonly images = new Map<string, Uint8Array>();

  constructor(
    private readonly client: EnvClient,
    readonly begun: ResetResponse,
    private readonly stepMs: number,
  ) {
    this.id = begun.session;
    this.goal = begun.goal;
    this.observation = this.withBytes(begun.observation);
  }

  /** Carry out the calls of one turn, at most once. */
  async step(calls: Call[]): Promise<StepResponse> {
    const request = create(StepRequestSchema, {
      session: this.id,
      seq: this.seq + 1n,
      calls: calls.map(({ id, name, arguments: given }) => ({ id, name, argumentsJson: JSON.stringify(given) })),
    });
    const timeoutMs = this.stepMs + STEP_SLACK_MS;
    const answer = await this.client.repeated(() => this.client.calls.step(request, { timeoutMs }));
    this.seq += 1n;
    this.observation = this.withBytes(answer.observation);
    this.state = answer.state;
    return answer;
  }

  async renew(): Promise<void> {
    await this.client.repeated(() => this.client.calls.renew({ session: this.id }, { timeoutMs: CALL_MS }));
  }

  /** End the episode and give its phone back. */
  async close(): Promise<void> {
    const request = { which: { case: "session", value: this.id } } as const;
    await this.client.repeated(() => this.client.calls.closeSession(request, { timeoutMs: CALL_MS }));
  }

  /** The service sends each picture once: fill in the bytes of one that it has sent before. */
  private withBytes(observation: Observation | undefined): Observation {
    if (!observation) throw new EnvError("an answer without observation", "INFRASTRUCTURE", "infrastructure", true);
    const image = observation.image;
    if (image?.data.length) this.images.set(image.digest, image.data);
    else if (image) image.data = this.images.get(image.digest) ?? image.data;
    return observation;
  }
}

async function repeated<T>(patienceMs: number, attempt: () => Promise<T>): Promise<T> {
  let until: number | undefined;
  for (let backoffMs = FIRST_BACKOFF_MS; ; backoffMs = Math.min(2 * backoffMs, MAX_BACKOFF_MS)) {
    try {
      return await attempt();
    } catch (error) {
      const failure = ConnectError.from(error);
      const said = failure.findDetails(ErrorInfoSchema).find((info) => info.domain === DOMAIN);
      until ??= Date.now() + patienceMs;
      if (said || !isOfTransport(failure.code) || Date.now() + backoffMs > until) throw envError(failure, said);
      await sleep(backoffMs * (0.5 + Math.random() / 2));
    }
  }
}

function isOfTransport(code: Code): boolean {
  return code === Code.Unavailable || code === Code.DeadlineExceeded || code === Code.Canceled;
}

function envError(failure: ConnectError, said?: { reason: string; metadata: Record<string, string> }): EnvError {
  if (said) {
    const { blame, retryable } = said.metadata;
    return new EnvError(failure.rawMessage, said.reason, blame as Blame, retryable === "true");
  }
  if (failure.code === Code.Unimplemented) {
    return new EnvError(`another version of envs.v1: ${failure.rawMessage}`, "PROTOCOL_MISMATCH", "client", false);
  }
  return new EnvError(failure.message, "INFRASTRUCTURE", "infrastructure", true);
}
