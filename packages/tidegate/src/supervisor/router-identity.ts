/** Whether an answer comes from the router of an L7Router, and not from another program that has taken its port. */
import { answerBody, identityHost, SERVER } from '../dataplane/answers.ts';
import { httpGet } from './http.ts';

/** `router`: the expected router. `stranger`: another program. `none`: no answer. */
export interface UrlAnswer {
  url: string;
  from: 'router' | 'stranger' | 'none';
}

/** Asks for the identity of the router at a URL. Without an identity, any answer counts as that of the router. */
export async function whoAnswers(url: string, identity: string | undefined): Promise<UrlAnswer> {
  const answer = await httpGet(url, identity === undefined ? undefined : identityHost(identity));
  if (answer === undefined) return { url, from: 'none' };
  const { status, headers, body } = answer;
  const confirms = status === 200 && headers.server === SERVER && body === answerBody(200);
  return { url, from: identity === undefined || confirms ? 'router' : 'stranger' };
}
