import { describe, expect, it } from 'vitest';
import { ANSWER_HEADERS, ANSWER_TEXTS, answerBody } from '../answers.ts';
import { runLua } from './testing/run-lua.ts';

describe('answer.lua', () => {
  it('sends the texts and headers of the common table', async () => {
    const statuses = Object.keys(ANSWER_TEXTS).map(Number);
    const sent = await runLua(
      `
      local text
      local stub = {
        var = {},
        req = { discard_body = function() end },
        exit = function() end,
        print = function(said) text = said end,
      }
      _G.ngx = setmetatable(stub, { __index = _G.ngx })
      -- There is no request.
      package.loaded["tidegate.context"] = { get = function() end }
      local answer = require "tidegate.answer"
      local sent = {}
      for i, status in ipairs(input.statuses) do
        stub.header, stub.status = {}, 0
        answer(status)
        sent[i] = { status = stub.status, headers = stub.header, text = text }
      end
      return sent`,
      { statuses },
    );
    expect(sent).toEqual(
      statuses.map((status) => ({
        status,
        headers: { ...ANSWER_HEADERS, 'Content-Length': answerBody(status).length },
        text: answerBody(status),
      })),
    );
  });
});
