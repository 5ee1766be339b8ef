/** Against a real service with a phone, at RLFACTORY_ADDRESS and with RLFACTORY_TOKEN: run by tests/clients. */
import assert from "node:assert/strict";
import { createServer, connect as dial } from "node:net";
import { test } from "node:test";
import { EnvClient, EnvError, EpisodeState, Split, ToolStatus } from "../src/client.js";

const address = process.env.RLFACTORY_ADDRESS ?? "";
const token = process.env.RLFACTORY_TOKEN ?? "";
const HOME = { name: "phone", arguments: { action: "key", key: "HOME" } };
const client = await EnvClient.connect(`http://${address}`, { token, needs: ["fork", "phones"] });

/** The error that this ends with. */
async function failure(work: Promise<unknown>): Promise<EnvError> {
  const error = await work.then(() => assert.fail("nothing was refused"), (reason: unknown) => reason);
  assert.ok(error instanceof EnvError, String(error));
  return error;
}

test("plays an episode to its end", async () => {
  const session = await client.begin("settings.wifi_on", { seed: 3n, options: { withTree: true } });
  try {
    assert.match(session.goal, /Wi-?Fi/i);
    assert.equal(session.observation.image?.data[0], 0xff); // of a JPEG
    assert.match(session.observation.treeXml, /^</);
    const home = await session.step([HOME]);
    assert.equal(home.results[0]?.status, ToolStatus.OK);
    await session.step([HOME]);
    assert.ok(session.observation.image?.data.length, "a picture that was sent before is filled in");
    const mistake = await session.step([{ name: "phone", arguments: { action: "dance" } }]);
    assert.equal(mistake.results[0]?.status, ToolStatus.REJECTED);
    await session.step([{ name: "finish", arguments: { status: "success" } }]);
    assert.equal(session.state, EpisodeState.FINISHED);
    assert.equal((await failure(session.step([HOME]))).reason, "EPISODE_OVER");
  } finally {
    await session.close();
  }
  assert.equal((await failure(session.renew())).reason, "SESSION_NOT_FOUND");
});

test("lists tasks by split", async () => {
  const tasks = await client.listTasks("phone", Split.TEST);
  assert.ok(tasks.length > 0 && tasks.every((task) => task.splits.includes(Split.TEST)));
});

test("says who is to blame", async () => {
  const error = await failure(client.begin("settings.wifi_onn", { seed: 1n }));
  assert.deepEqual([error.reason, error.blame, error.retryable], ["UNKNOWN_NAME", "client", false]);
  const stranger = await failure(EnvClient.connect(`http://${address}`, { token: "of-nobody-at-all" }));
  assert.equal(stranger.reason, "UNAUTHENTICATED");
  const demanding = await failure(EnvClient.connect(`http://${address}`, { token, needs: ["flying"] }));
  assert.equal(demanding.reason, "PROTOCOL_MISMATCH");
});

test("asks again when the first connections are cut", async () => {
  let cut = 2;
  const [host = "", port = ""] = address.split(":");
  const proxy = createServer((socket) => {
    if (cut-- > 0) return void socket.destroy();
    socket.pipe(dial(Number(port), host)).pipe(socket);
  });
  await new Promise<void>((listening) => proxy.listen(0, "127.0.0.1", listening));
  const at = proxy.address();
  assert.ok(at && typeof at === "object");
  const patient = await EnvClient.connect(`http://127.0.0.1:${at.port}`, { token });
  assert.equal(patient.handshake.protocol, 2);
  assert.equal(cut, -1);
  proxy.close();
});
